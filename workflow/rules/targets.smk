# Names a person types: one per figure, one per paper, one per preset, and `tracking` for MLflow.
for figure in FIGURES.values():

    rule:
        name:
            figure.target
        input:
            figure.products,


for paper in PAPERS:

    rule:
        name:
            paper
        input:
            [product for figure in FIGURES.values() if figure.paper == paper for product in figure.products],


rule quick:
    input:
        lambda w: everything("quick"),


rule mlflow:
    input:
        f"results/mlflow/{config['preset']}.imported",
