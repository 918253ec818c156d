import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPackages
import AccelPrograms

/// A choice that a request makes beyond the defaults. This table decides what is part of the cache key of a package, and what does not
/// apply to the export of a package.
package struct ConversionChoice: Sendable {
    /// The name in diagnostics, e.g. `shapes`.
    package let name: String
    /// Whether formats without functions leave the choice to their runtimes.
    package let isOfFunctions: Bool
    /// The name of the entry in cache keys; nil if the files, functions or recipe in the key have the choice.
    fileprivate let key: String?
    /// The value of a request; nil if it does not make the choice.
    fileprivate let value: @Sendable (Conversion) throws -> String?

    package init(
        _ name: String, key: String? = nil, isOfFunctions: Bool = false,
        value: @escaping @Sendable (Conversion) throws -> String?
    ) {
        (self.name, self.key, self.isOfFunctions, self.value) = (name, key, isOfFunctions, value)
    }

    private static func lines(_ values: [String]) -> String? {
        values.isEmpty ? nil : values.joined(separator: "\n")
    }
}

extension ConversionChoice {
    package static let parts = Self("parts") { lines($0.parts) }
    package static let shapes = Self("shapes", isOfFunctions: true) { $0.takesUsualShapes ? nil : "" }
    package static let target = Self("a target", key: "target") { $0.target?.text }
    package static let samples = Self("samples", key: "calibrate") {
        $0.samples?.digest.description ?? $0.sampleText?.path
    }
    package static let importance = Self("an importance matrix", key: "importance") {
        $0.importance?.digest.description
    }
    package static let configuration = Self("a configuration") { $0.configuration }
    package static let ignoredFields = Self("ignored fields", key: "ignore-config") { lines($0.ignoredFields) }
    package static let adapters = Self("adapters") { $0.adapters.isEmpty ? nil : "" }
    package static let interface = Self("an interface", key: "interface") {
        try $0.interfaceFile.map { try JSON.read($0).text() }
    }
    package static let ignoredTensors = Self("ignored tensors", key: "ignore-tensor") { lines($0.ignoredTensors) }
    package static let states = Self("a type of states", key: "states", isOfFunctions: true) {
        $0.states == .float32 ? nil : $0.states.rawValue
    }
    package static let logits = Self("the logits", key: "logits") { $0.logits == .all ? nil : $0.logits.rawValue }
    package static let probe = Self("a probe", key: "probe") { $0.hasProbe ? "\(PackageProbe.version)" : nil }
    /// A request always has schemes, so that no error is about them.
    package static let schemes = Self("the schemes") { _ in nil }

    /// All choices, in the order in which errors name them.
    package static let all = [
        parts, shapes, target, samples, importance, configuration, ignoredFields, adapters, interface, ignoredTensors,
        states, logits, probe, schemes,
    ]
}

extension Conversion {
    /// The entries of the choices in cache keys.
    var keyEntries: [(name: String, value: String)] {
        get throws {
            try choices.compactMap { choice in
                guard let key = choice.key, let value = try choice.value(self) else { return nil }
                return (key, value)
            }
        }
    }

    /// Fails for a choice that does not apply to the export of a package: its parts, functions and weights are made already.
    func requireNoChoices() throws {
        guard let choice = try choices.first(where: { try $0.value(self) != nil }) else { return }
        throw notApplicableToPackage(choice.name)
    }

    /// The error for a choice that does not apply to a package.
    package func notApplicableToPackage(_ choice: String) -> RequestError {
        RequestError("\(model) is a package, to which \(choice) cannot be applied", code: .notApplicableToPackage)
    }

    /// Adds a choice to the table, unless it is there.
    package mutating func add(_ choice: ConversionChoice) {
        if !choices.contains(where: { $0.name == choice.name }) { choices.append(choice) }
    }
}

extension Diagnostic.Code {
    package static let notApplicableToPackage: Self = "settled-by-package"
}
