"""Matrix products and factorizations: tiles of our own, BLAS and LAPACK."""
