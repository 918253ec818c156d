import AccelByteIO
import AccelCPURuntime

/// The option for the device that a package is for.
enum ProfileArguments {
    static let profile = Option(
        "profile", .words(DeviceProfile.all.map(\.name)), in: .comparison,
        "a device, whose limits of package size and memory are checked. The end of this page lists the limits",
        isCommon: true)

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
        return
            "Profiles: convert and verify end with exit status 1 if a limit is exceeded. Memory counts the weights,\n"
            + "and the values and states of one session.\n"
            + HelpPage.table(rows)
    }

    private static let words = [
        "server": "all memory of this machine or control group",
        "current": "the free memory of this machine",
    ]
}
