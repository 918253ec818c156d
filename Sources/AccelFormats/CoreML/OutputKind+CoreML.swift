public import AccelByteIO

extension OutputKind {
    /// An unchanged Core ML package of accelc. Packages of coremltools or Xcode are not replaced.
    public static let coreMLPackage = OutputKind.folder("a Core ML package", suffixes: CoreMLFormat.suffixes) { path in
        try CoreMLPackageWriter.rejectionReason(for: path) ?? CoreMLPackage(at: path).changeOfWeights()
    }
}
