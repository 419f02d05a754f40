"""Which sets, graphs and fields are codes made of? Combinatorial designs, regular graphs, finite fields."""
