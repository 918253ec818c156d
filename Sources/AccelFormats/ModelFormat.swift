import AccelByteIO

/// A format that models are kept in: one folder beside this file, and one line in `ModelFormats.swift`.
public protocol ModelFormat: Sendable {
    /// One word, e.g. `coreml`.
    static var name: String { get }
    /// What errors call a model of this format, with its article, e.g. `a Core ML package (.mlpackage)`.
    static var title: String { get }
    /// How paths of this format end. A path that ends so and holds nothing that is recognised is a broken model of this format.
    static var suffixes: [String] { get }
    /// Whether a request may name a config.json for a model of this format, or ignore fields of it.
    static var takesConfiguration: Bool { get }
    /// Whether a model of this format stands at a path, sound or not: by what is there, never by its name.
    static func recognises(_ path: String) -> Bool
    /// Opens the model at a path.
    /// - Throws: `FormatError` where the model is corrupt, with file and place; `RequestError` where there is none, or where an
    ///   option does not go with the format.
    static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource
    /// What writes this format; nil for a format that is only read, and for accelerator packages, which `convert` writes.
    static var exporter: (any Exporter.Type)? { get }
}

extension ModelFormat {
    public static var suffixes: [String] { [] }
    public static var takesConfiguration: Bool { false }
    public static var exporter: (any Exporter.Type)? { nil }
}

/// What a request says of a model that its files do not say.
public struct OpeningOptions: Sendable {
    /// The path of a config.json, of weights without one or in place of the model's own.
    public var configuration: String?
    /// Fields of config.json that are read as if they were not there; `FILE:KEY` in another file.
    public var ignoredFields: [String]
    /// The roles of ports that the format has no words for.
    public var interfaces: InterfaceFile?

    public init(
        configuration: String? = nil, ignoredFields: [String] = [], interfaces: InterfaceFile? = nil
    ) {
        (self.configuration, self.ignoredFields, self.interfaces) = (configuration, ignoredFields, interfaces)
    }

    /// Refuses options that are for models with a config.json.
    func refuseConfiguration(of path: String, _ title: String) throws {
        let named = [("a configuration", configuration != nil), ("ignored fields", !ignoredFields.isEmpty)]
        guard let option = named.first(where: \.1)?.0 else { return }
        throw RequestError("\(path) is \(title), which settles \(option): leave it out")
    }
}
