// Tools import this module alone: it re-exports the modules whose types appear in its interface.
@_exported public import AccelByteIO
@_exported public import AccelFormats
@_exported public import AccelPackages
@_exported public import AccelPrograms
@_exported public import AccelTensors
@_exported public import AccelWeightCompression
