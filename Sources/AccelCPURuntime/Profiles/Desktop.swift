extension DeviceProfile {
    /// A computer with 16 GB of memory, 6 of which the system and other apps have.
    public static let desktop = DeviceProfile("desktop", memoryBytes: 10_000_000_000)
}
