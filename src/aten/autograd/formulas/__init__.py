"""What the formulas in `derivatives.yaml` call besides operators, by family.

They are composites of operators: they work on every device, and have derivatives themselves.
"""
