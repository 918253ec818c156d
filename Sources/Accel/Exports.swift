// Apps import this module alone: the types of ports, shapes, errors and long work are part of its own.
@_exported public import AccelByteIO
@_exported public import AccelPrograms
@_exported public import AccelTensors
