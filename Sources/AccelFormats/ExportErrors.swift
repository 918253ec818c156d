package import AccelByteIO
import AccelPrograms

extension Diagnostic.Code {
    /// The format, or the chosen target, has no equal of a part of the model. The candidates are schemes, values of the exporter's options
    /// (`ExportOption.candidate`), and the name of its flag for fallbacks.
    package static let unsupportedByFormat: Self = "unsupported-by-format"
    /// The same of a weight of a package, which keeps its schemes.
    package static let packageSchemeUnsupported: Self = "package-scheme-unsupported"
    /// The format has no operator that rounds activations.
    package static let activationsUnsupported: Self = "activations-unsupported"
    /// The format has no key/value caches of int8.
    package static let int8StatesUnsupported: Self = "int8-states-unsupported"
    /// The format has no models of the family, or not of this form. The candidates are formats that have.
    package static let familyUnsupported: Self = "family-unsupported"
    /// A tensor that the format needs belongs to a part of the model that was left out.
    package static let partMissing: Self = "part-missing"
    /// Functions of several parts or shapes of a model would have one name.
    package static let severalFunctionsOfOneName: Self = "several-functions-of-one-name"
}

extension ExportOption {
    /// Returns a value of the option as a candidate of a diagnostic.
    func candidate(_ value: String) -> String { "\(name)=\(value)" }
}

/// A scheme that a format does not have.
struct UnsupportedScheme {
    let reason: String
    /// Schemes that the format has.
    let candidates: [String]

    init(_ reason: String, use candidates: String...) { (self.reason, self.candidates) = (reason, candidates) }

    /// The error for a weight of a model, or of a package, which keeps its schemes.
    func error(of weight: String, inPackage: Bool) -> RequestError {
        RequestError(
            "weight \(quoted(weight)): \(reason)", code: inPackage ? .packageSchemeUnsupported : .unsupportedByFormat,
            candidates: candidates)
    }
}

extension ExportedModel {
    /// Rejects scaled channels, for a format that has no operator to undo the factors.
    /// - Throws: `RequestError` if a weight's channels are scaled.
    func rejectScaledChannels(in format: String) throws {
        guard scalings.isEmpty else {
            throw RequestError(
                "\(format): the model's channels are scaled (method=awq, or smoothed activations), which it cannot undo"
            )
        }
    }
}

extension [FrozenProgram] {
    /// Rejects functions that round activations, for a format that has no such operator.
    /// - Parameter detail: more to say of the format, with a blank before it.
    /// - Throws: `RequestError` if a function rounds activations.
    func rejectRoundedActivations(in format: String, detail: String = "") throws {
        guard !contains(where: { $0.program.nodes.contains { $0.operation is QuantizedLinear } }) else {
            throw RequestError(
                "\(format): rounded activations cannot be expressed\(detail)", code: .activationsUnsupported)
        }
    }

    /// Rejects what a format cannot express that has no operators, and whose decoders generate text.
    /// - Throws: `RequestError` if a function rounds activations, or if a decoder takes whole texts.
    func rejectInexpressible(in format: String, detail: String = "") throws {
        try rejectRoundedActivations(in: format, detail: detail)
        guard !contains(where: { $0.program.name == "decoder" && $0.program.states.isEmpty }) else {
            throw RequestError(
                "\(format): a decoder that takes whole texts, for vectors or labels, cannot be expressed",
                code: .familyUnsupported, candidates: [CoreMLExporter.name])
        }
    }
}
