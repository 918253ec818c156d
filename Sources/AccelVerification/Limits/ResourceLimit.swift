/// A figure of a whole package that a budget or a device's profile may limit.
enum Resource: String, CaseIterable, Sendable {
    case storedBytes = "stored bytes"
    case bitsPerWeight = "bits per weight"
    case packageBytes = "bytes of the package"
    /// Of the weights, and of the values and states of one session: see `Footprint`.
    case memoryBytes = "bytes of memory"
    /// The time of a run with all weights in float32 divided by the package's; the least of all functions.
    case speed = "speed relative to float32"

    /// The limit is the least value that is allowed; else the largest.
    var isLeast: Bool { self == .speed }

    /// The reason why a comparison may have no such figure.
    var missing: String {
        switch self {
        case .storedBytes, .bitsPerWeight: "there are no stored weights here"
        case .packageBytes, .memoryBytes: "there is no package of accelc here, so this is not known: leave it out"
        case .speed: "no function was run beside its float32 form: give --against MODEL, and a package of accelc"
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
}
