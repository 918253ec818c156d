// What a tool imports to convert and export models: this module has those in it that its values come from.
@_exported public import AccelByteIO
@_exported public import AccelFormats
@_exported public import AccelPackages
@_exported public import AccelPrograms
@_exported public import AccelTensors
@_exported public import AccelWeightCompression
