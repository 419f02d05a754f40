# Names a person types: one per figure, one per paper, `everything`, one per preset, and `mlflow`.
for figure in FIGURES.values():

    rule:
        name:
            figure.target
        input:
            figure.products,


def own_figures(paper):
    # Figures and tables that stand in the paper; of a collection of studies all of them.
    mine = [figure for figure in FIGURES.values() if figure.paper == paper]
    return [figure for figure in mine if not figure.file.study] or mine


for paper in PAPERS:

    rule:
        name:
            paper
        input:
            [product for figure in own_figures(paper) for product in figure.products],


rule everything:
    input:
        index_and_lost(config["preset"]),


rule quick:
    input:
        lambda w: index_and_lost("quick"),


rule mlflow:
    input:
        paths.IMPORTED.format(preset=config["preset"]),
