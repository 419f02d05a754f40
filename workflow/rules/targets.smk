# Names a person types: one per figure, one per paper, `everything`, one per preset, and `mlflow` before any of them.
for figure in FIGURES.values():

    rule:
        name:
            figure.target
        input:
            figure.products,
            REQUEST.imported(figure.target),


for paper in PAPERS:

    rule:
        name:
            paper
        input:
            REQUEST.products_of(paper, config["preset"]),
            REQUEST.imported(paper),


for part in [*FIGURES, *PAPERS]:

    rule:
        name:
            f"mlflow_{part}"
        input:
            paths.IMPORTED_PART.format(preset=config["preset"], part=part),


rule everything:
    input:
        REQUEST.index_and_lost(config["preset"]),


rule quick:
    input:
        lambda w: REQUEST.index_and_lost("quick"),


rule mlflow:
    input:
        paths.IMPORTED.format(preset=config["preset"]),
