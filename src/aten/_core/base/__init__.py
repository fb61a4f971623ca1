"""What everything is said in: element types, devices, dispatch keys, sizes, strides, errors."""
