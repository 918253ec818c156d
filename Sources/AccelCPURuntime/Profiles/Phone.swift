extension DeviceProfile {
    /// A phone with 6 GB of memory, of which an app may have half.
    public static let phone = DeviceProfile("phone", packageBytes: 2_000_000_000, memoryBytes: 3_000_000_000)
}
