# Names a person types: one per figure, one per paper, `everything`, one per preset, and `mlflow` before any of them.
for figure in FIGURES.values():

    rule:
        name:
            figure.target
        input:
            figure.products,
            paths.FIGURE_PAGE.format(preset=config["preset"], target=figure.target),
            REQUEST.import_files(figure.target),


for paper in PAPERS:

    rule:
        name:
            paper
        input:
            REQUEST.products_of(paper, config["preset"]),
            REQUEST.import_files(paper),


for part in [*FIGURES, *PAPERS]:

    rule:
        name:
            f"mlflow_{part}"
        input:
            paths.IMPORTED_PART.format(preset=config["preset"], part=part),


rule everything:
    input:
        REQUEST.page_and_lost_products(config["preset"]),


rule quick:
    input:
        lambda w: REQUEST.page_and_lost_products("quick"),


rule mlflow:
    input:
        paths.IMPORTED.format(preset=config["preset"]),
