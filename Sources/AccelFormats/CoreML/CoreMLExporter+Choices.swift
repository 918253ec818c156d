import AccelByteIO

extension CoreMLExporter {
    /// The metadata entry with the exporter's version and options.
    static let metadataKey = "accelc.exporter"

    /// The entry's text, e.g. `coreml 5 target=iOS18 precision=float16 layout=plain shapes-as=functions allow-fallback=no`.
    var text: String {
        var words = [
            "\(Self.name) \(Self.version)", "target=\(choices.target.rawValue)",
            "precision=\(choices.floatType == .float32 ? "float32" : "float16")", "layout=\(choices.layout.rawValue)",
            "shapes-as=\(choices.enumeratesShapes ? "enumerated" : "functions")",
            "allow-fallback=\(choices.allowsFallback ? "yes" : "no")",
        ]
        if choices.longestAxis != CoreMLOptions.longestAxis { words.append("longest-axis=\(choices.longestAxis)") }
        if choices.inputType == .float16 { words.append("inputs-as=float16") }
        if choices.outputType == .float16 { words.append("outputs-as=float16") }
        return words.joined(separator: " ")
    }

    /// Restores the exporter that made a package, from its metadata.
    /// - Throws: `Unknown` for a package of an earlier accelc or another tool, and for another version of the exporter,
    ///   which may write other bytes.
    public init(of package: CoreMLPackage) throws {
        guard let text = package.model.metadata.other.first(where: { $0.name == Self.metadataKey })?.content else {
            throw Unknown(reason: "it does not say by which choices of accelc it was made")
        }
        let words = text.split(separator: " ").map(String.init)
        guard words.prefix(2) == [Self.name, "\(Self.version)"] else {
            throw Unknown(
                reason: "it was made by \(quoted(words.prefix(2).joined(separator: " "))), and this is "
                    + "\(Self.name) \(Self.version), which may write other bytes")
        }
        func value(_ name: String) -> String? {
            words.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        guard let target = value("target").flatMap(CoreMLTarget.init),
            let layout = value("layout").flatMap(CoreMLOptions.Layout.init)
        else { throw Unknown(reason: "\(Self.metadataKey) is \(quoted(text))") }
        self.init(
            CoreMLOptions(
                target: target, floatType: value("precision") == "float32" ? .float32 : .float16, layout: layout,
                enumeratesShapes: value("shapes-as") == "enumerated", allowsFallback: value("allow-fallback") == "yes",
                longestAxis: value("longest-axis").flatMap { Int($0) } ?? CoreMLOptions.longestAxis,
                inputType: value("inputs-as") == "float16" ? .float16 : .float32,
                outputType: value("outputs-as") == "float16" ? .float16 : .float32))
        guard self.text == text else { throw Unknown(reason: "\(Self.metadataKey) is \(quoted(text))") }
    }

    /// The error for a package that cannot be reproduced.
    public struct Unknown: Error {
        /// The reason, as the rest of a sentence about the package.
        public let reason: String

        /// An error with its reason.
        public init(reason: String) { self.reason = reason }
    }
}
