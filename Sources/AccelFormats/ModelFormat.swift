package import AccelByteIO

/// A file format of models. A format is one folder beside this file, and one line in `ModelFormats.swift`.
public protocol ModelFormat: Sendable {
    /// The name: one word, e.g. `coreml`.
    static var name: String { get }
    /// The phrase for a model of this format in errors, with an article, e.g. `a Core ML package (.mlpackage)`.
    static var title: String { get }
    /// The suffixes of paths. A path with such a suffix whose content no format recognises counts as a corrupt model of this one.
    static var suffixes: [String] { get }
    /// Whether a request for a model of this format may name a config.json, or ignore fields of it.
    static var takesConfiguration: Bool { get }
    /// Whether adapters can be merged into models of this format.
    static var takesAdapters: Bool { get }
    /// The functions, families and schemes that are read from models of this format.
    static var reading: FormatReading { get }
    /// Returns whether the content of a path is a model of this format, intact or corrupt. The name does not count.
    static func recognises(_ path: String) -> Bool
    /// Opens the model at a path.
    /// - Throws: `FormatError` with file and offset if the model is corrupt; `RequestError` if there is no model, or if the
    ///   format does not support an option.
    static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource
    /// The exporter of this format; nil for read-only formats, and for accelerator packages, which `convert` writes.
    static var exporter: (any Exporter.Type)? { get }
}

extension Diagnostic.Code {
    /// The format records the roles of functions and ports itself, or has no functions.
    package static let interfaceNotApplicable: Self = "interface-not-applicable"
    /// The format's functions are not read back. The candidates are runtimes that run such models.
    package static let functionsNotRead: Self = "functions-not-read"
}

extension ModelFormat {
    public static var suffixes: [String] { [] }
    public static var takesConfiguration: Bool { false }
    public static var takesAdapters: Bool { false }
    public static var exporter: (any Exporter.Type)? { nil }
    public static var reading: FormatReading { FormatReading(schemes: FormatReading.plain) }
}

/// Options for opening a model: information that its files lack.
public struct OpeningOptions: Sendable {
    /// The path of a config.json, for weights without one or instead of the model's own.
    public var configuration: String?
    /// Fields of config.json to ignore: `KEY`, or `FILE:KEY` for a field of another file.
    public var ignoredFields: [String]
    /// Adapters to merge into the weights, in this order.
    public var adapters: [AdapterRequest]
    /// The roles of functions and ports, for formats that do not record them.
    public var interfaces: InterfaceFile?

    /// Options with values for the given fields, and none for the others.
    public init(
        configuration: String? = nil, ignoredFields: [String] = [], adapters: [AdapterRequest] = [],
        interfaces: InterfaceFile? = nil
    ) {
        self.adapters = adapters
        (self.configuration, self.ignoredFields, self.interfaces) = (configuration, ignoredFields, interfaces)
    }

    /// Fails if roles of functions and ports are given for a format that has them, or has no functions.
    /// - Parameter reason: the sentence about the model.
    func rejectInterfaces(_ reason: String) throws {
        guard interfaces == nil else { throw RequestError(reason, code: .interfaceNotApplicable) }
    }

    /// Fails if options for models with a config.json are set.
    func rejectConfiguration(of path: String, _ title: String) throws {
        let named = [("a configuration", configuration != nil), ("ignored fields", !ignoredFields.isEmpty)]
        guard let option = named.first(where: \.1)?.0 else { return }
        throw RequestError("\(path) is \(title), to which \(option) cannot be applied; leave it out")
    }
}
