import AccelByteIO

/// The resources that a model may take on a kind of device. It bounds conversions, verifications, and updates of a model store.
///
/// A profile is data: an app may change a copy of one, or make its own.
public struct DeviceProfile: Equatable, Sendable {
    /// The name, e.g. `phone`.
    public var name: String
    /// The most bytes that all files of a package may have; nil for no limit.
    public var packageBytes: Int?
    /// The most bytes of memory for a model: its weights, and the values and states of one session; nil for no limit.
    public var memoryBytes: Int?
    /// The most threads of one run; nil for all processors.
    public var threads: Int?
    /// The longest time of one run of a function on this device, by the function's name or its part's, e.g. `decoder`. Other functions
    /// have no limit. Updates of a model store check it, since it can be measured on the device only.
    public var latency: [String: Duration]
    /// The names of the backends that may run a model, the best one first, e.g. `cpu`; empty for all. A model store opens its models
    /// on no other.
    public var backends: [String]

    /// A profile with these limits.
    public init(
        _ name: String, packageBytes: Int? = nil, memoryBytes: Int? = nil, threads: Int? = nil,
        latency: [String: Duration] = [:], backends: [String] = []
    ) {
        (self.name, self.packageBytes, self.memoryBytes, self.threads) = (name, packageBytes, memoryBytes, threads)
        (self.latency, self.backends) = (latency, backends)
    }

    /// The profiles by their names. A new profile is a file beside this one and a line here.
    public static var all: [DeviceProfile] {
        [.watch, .phone, .desktop, .server, .current]
    }

    /// Returns the profile of a name; nil if there is none.
    public static func named(_ name: String) -> DeviceProfile? { all.first { $0.name == name } }
}

extension DeviceProfile {
    /// A limit that a model exceeds.
    public struct Excess: Equatable, Sendable, CustomStringConvertible {
        /// The resource of a limit.
        public enum Resource: String, Sendable {
            /// The bytes of the package's files.
            case package = "bytes of the package"
            /// The bytes of memory of the model.
            case memory = "bytes of memory"
        }
        /// The resource.
        public let resource: Resource
        /// The bytes that the model takes.
        public let needed: Int
        /// The bytes that the profile allows.
        public let limit: Int
        /// The name of the profile.
        public let profile: String

        package init(_ resource: Resource, needed: Int, limit: Int, of profile: String) {
            (self.resource, self.needed, self.limit, self.profile) = (resource, needed, limit, profile)
        }

        public var description: String {
            "takes \(Wording.grouped(needed)) \(resource.rawValue); the profile \(profile) allows \(Wording.grouped(limit))"
        }
    }

    /// The limits with the values that a model has for them.
    public func limits(of footprint: Footprint) -> [(resource: Excess.Resource, needed: Int, limit: Int)] {
        [
            (.package, footprint.packageBytes, packageBytes), (.memory, footprint.memoryBytes, memoryBytes),
        ].compactMap { resource, needed, limit in limit.map { (resource, needed, $0) } }
    }

    /// Returns the limits that a model exceeds; empty if it fits.
    public func excesses(of footprint: Footprint) -> [Excess] {
        limits(of: footprint).filter { $0.needed > $0.limit }.map {
            Excess($0.resource, needed: $0.needed, limit: $0.limit, of: name)
        }
    }
}
