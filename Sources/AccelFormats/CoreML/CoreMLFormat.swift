import AccelByteIO

/// Core ML packages with an ML Program, written by accelc, coremltools or Xcode.
public enum CoreMLFormat: ModelFormat {
    public static let name = "coreml"
    public static let title = "a Core ML package (.mlpackage)"
    public static let suffixes = [".mlpackage"]
    public static let exporter: (any Exporter.Type)? = CoreMLExporter.self

    public static func recognises(_ path: String) -> Bool { CoreMLPackage.isPackage(path) }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        return CoreMLSource(try CoreMLPackage(at: path), interfaces: options.interfaces)
    }
}
