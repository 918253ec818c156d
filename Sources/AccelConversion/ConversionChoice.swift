import AccelByteIO
import AccelFormats
import AccelPackages
import AccelPrograms

/// A choice that a request makes beyond the defaults. This table decides what is part of a cache key, and what does not apply to a package.
package struct ConversionChoice: Sendable {
    /// The name in diagnostics, e.g. `shapes`.
    package let name: String
    /// The name of the entry in cache keys; nil if the files, functions or scheme in the key have the choice.
    private let keyName: String?
    /// Whether formats without functions leave the choice to their runtimes.
    package let isOfFunctions: Bool
    /// Whether a request makes the choice.
    let isMade: @Sendable (Conversion) -> Bool
    private let value: @Sendable (Conversion) throws -> String?

    /// A choice with an entry in cache keys.
    /// - Parameters:
    ///   - isMade: whether a request makes the choice; by default, whether it has a value.
    ///   - value: the value in the key; nil where the result does not depend on it.
    package init(
        _ name: String, key: String, isOfFunctions: Bool = false,
        isMade: (@Sendable (Conversion) -> Bool)? = nil,
        value: @escaping @Sendable (Conversion) throws -> String?
    ) {
        (self.name, keyName, self.isOfFunctions, self.value) = (name, key, isOfFunctions, value)
        self.isMade = isMade ?? { (try? value($0)) != nil }
    }

    /// A choice that other parts of cache keys have.
    package init(_ name: String, isOfFunctions: Bool = false, isMade: @escaping @Sendable (Conversion) -> Bool) {
        (self.name, keyName, self.isOfFunctions, self.isMade) = (name, nil, isOfFunctions, isMade)
        value = { _ in nil }
    }

    /// Returns the entry of cache keys; nil for none.
    fileprivate func entry(of request: Conversion) throws -> (name: String, value: String)? {
        guard let keyName, let value = try value(request) else { return nil }
        return (keyName, value)
    }
}

extension ConversionChoice {
    package static let parts = ConversionChoice("parts") { !$0.parts.isEmpty }
    package static let shapes = ConversionChoice("shapes", isOfFunctions: true) { !$0.takesUsualShapes }
    package static let target = ConversionChoice("a target", key: "target") { $0.target?.text }
    package static let samples = ConversionChoice(
        "samples", key: "calibrate", isMade: { $0.samples != nil || $0.sampleText != nil }
    ) {
        $0.onlyMeasuresSamples ? nil : $0.samples?.digest.description
    }
    package static let importance = ConversionChoice("an importance matrix", key: "importance") {
        $0.importance?.digest.description
    }
    package static let configuration = ConversionChoice("a configuration") { $0.configuration != nil }
    package static let ignoredFields = ConversionChoice("ignored fields", key: "ignore-config") {
        lines($0.ignoredFields)
    }
    package static let adapters = ConversionChoice("adapters") { !$0.adapters.isEmpty }
    package static let interface = ConversionChoice(
        "an interface", key: "interface", isMade: { $0.interfaceFile != nil },
        value: { try $0.interfaceFile.map { try JSON.read($0).text() } })
    package static let ignoredTensors = ConversionChoice("ignored tensors", key: "ignore-tensor") {
        lines($0.ignoredTensors)
    }
    package static let states = ConversionChoice("a type of states", key: "states", isOfFunctions: true) {
        $0.states == .float32 ? nil : $0.states.rawValue
    }
    package static let logits = ConversionChoice("the logits", key: "logits") {
        $0.logits == .all ? nil : $0.logits.rawValue
    }
    /// A request always has schemes, so that no error is about them.
    package static let schemes = ConversionChoice("the schemes") { _ in false }
    package static let probe = ConversionChoice("a probe", key: "probe", isMade: { _ in false }) {
        $0.hasProbe ? "\(PackageProbe.version)" : nil
    }

    /// All choices, in the order in which errors name them.
    package static let all = [
        parts, shapes, target, samples, importance, configuration, ignoredFields, adapters, interface, ignoredTensors,
        states, logits, schemes, probe,
    ]

    private static func lines(_ values: [String]) -> String? {
        values.isEmpty ? nil : values.joined(separator: "\n")
    }
}

extension Conversion {
    /// The entries of the choices in cache keys.
    var keyEntries: [(name: String, value: String)] { get throws { try choices.compactMap { try $0.entry(of: self) } } }

    /// Fails for a choice that does not apply to a package: its parts, functions and weights are made already.
    func requireNoChoices() throws {
        guard let choice = choices.first(where: { $0.isMade(self) }) else { return }
        throw packageSettles(choice.name)
    }

    /// The error for a choice that does not apply to a package.
    package func packageSettles(_ choice: String) -> RequestError {
        RequestError("\(model) is a package, which settles \(choice)", code: .settledByPackage)
    }

    /// Adds a choice to the table, unless it is there.
    package mutating func add(_ choice: ConversionChoice) {
        if !choices.contains(where: { $0.name == choice.name }) { choices.append(choice) }
    }
}

extension Diagnostic.Code {
    package static let settledByPackage: Self = "settled-by-package"
}
