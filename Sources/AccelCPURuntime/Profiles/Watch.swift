extension DeviceProfile {
    /// A watch: packages are loaded over slow links, and an app has little memory.
    public static let watch = DeviceProfile("watch", packageBytes: 60_000_000, memoryBytes: 100_000_000, threads: 2)
}
