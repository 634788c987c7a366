"""Files of one op in many forms: what TFLM runs is exact here, or listed with a reason."""
