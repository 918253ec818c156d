import AccelByteIO
import AccelFormats
import AccelPackages

/// A figure of a whole package that a budget or a device's profile may limit.
enum Resource: String, CaseIterable, Sendable {
    case storedBytes = "stored bytes"
    case bitsPerWeight = "bits per weight"
    case packageBytes = "bytes of the package"
    /// The bytes of the weights, and of the values and states of one session: see `Footprint`.
    case memoryBytes = "bytes of memory"
    /// The time of a run with all weights in float32 divided by the package's; the least of all functions.
    case speed = "speed relative to float32"
    /// The SQNR in dB of a function's outputs together; the least of all functions: see `TogetherFinding`.
    case together = "SQNR of all outputs together"

    /// The limit is the least value that is allowed; else the largest.
    var isLeast: Bool { self == .speed || self == .together }

    var isOfBytes: Bool { self == .storedBytes || self == .packageBytes || self == .memoryBytes }

    /// The reason why a comparison may have no such figure.
    var missing: String {
        switch self {
        case .storedBytes, .bitsPerWeight: "there are no stored weights here"
        case .packageBytes:
            "\(rawValue) are known of packages of accelc and of Core ML packages, and this is none: leave the limit out"
        case .memoryBytes:
            "\(rawValue) are known of packages of accelc only, and this is none: leave the limit out"
        case .together:
            "the outputs are compared together where a model is known, and here is none: leave the limit out"
        case .speed:
            "the speed is measured of packages of accelc beside their model, and one of them is missing: leave the limit out"
        }
    }
}

/// A limit of a budget on a resource.
struct ResourceLimit: Sendable {
    let resource: Resource
    /// In the unit of the resource.
    let limit: Double
    /// The field of the budget, e.g. `size.bytes`.
    let field: String
    /// The budget's field for limits of its kind, e.g. `size`.
    var group: String { String(field.prefix { $0 != "." }) }
}

extension Subject {
    private var coreML: CoreMLPackage? { if case .coreML(let package) = self { package } else { nil } }

    /// The bytes of all files of a package; nil for other subjects.
    var fileBytes: Int? {
        get throws { try package?.byteCount ?? coreML.map { try Files.byteCount(ofTree: $0.path) } }
    }

    /// Checks that this subject has all figures that a budget limits, before anything runs.
    /// - Throws: `RequestError` naming the field of the budget.
    public func requireResources(of budget: Budget, hasReference: Bool) throws {
        for limit in budget.resources where !has(limit.resource, besideReference: hasReference) {
            throw RequestError("\(budget.file), field \(limit.field): \(limit.resource.missing)")
        }
    }

    private func has(_ resource: Resource, besideReference: Bool) -> Bool {
        switch resource {
        case .storedBytes, .bitsPerWeight: true
        case .packageBytes: package != nil || coreML != nil
        case .memoryBytes: package != nil
        case .speed: package != nil && besideReference
        case .together: besideReference
        }
    }
}
