module coirbench

go 1.19
