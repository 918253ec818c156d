import AccelByteIO
import AccelCPURuntime

/// The option for the device that a package is for.
enum ProfileArguments {
    static let profile = Option(
        "profile", .words(DeviceProfile.all.map(\.name)),
        "the device that the package is for, whose limits of package bytes and memory it has to keep to; see below")

    /// Returns nil if no device is named.
    static func profile(_ arguments: Arguments) -> DeviceProfile? { arguments[profile].flatMap(DeviceProfile.named) }

    /// The limits of the profiles, for help.
    static var notes: String {
        let rows = DeviceProfile.all.map { profile in
            let limits = [
                profile.packageBytes.map { "\(Wording.bytes($0)) for the package" },
                // The amount belongs to this machine, and not to the page.
                ["server", "current"].contains(profile.name)
                    ? nil : profile.memoryBytes.map { "\(Wording.bytes($0)) of memory" },
                words[profile.name],
            ]
            return ("  \(profile.name)", limits.compactMap(\.self).joined(separator: ", "))
        }
        return "Beyond a limit convert and verify end with exit status 1. Memory is that of the weights, and of the\n"
            + "values and states of one session. The profiles:\n"
            + HelpPage.table(rows)
    }

    private static let words = [
        "server": "all memory of this machine or control group",
        "current": "the memory that is free here and now",
    ]
}
