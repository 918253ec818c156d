public import AccelByteIO

extension OutputKind {
    /// A Core ML package that accelc has written, not one of coremltools or Xcode.
    public static let coreMLPackage = OutputKind.folder("a Core ML package") { path in
        try CoreMLPackageWriter.objection(to: path) ?? CoreMLPackage(at: path).changeOfWeights()
    }
}
