"""The CPU: LLVM code for programs, libraries for matrix products."""
