import AccelByteIO

extension DeviceProfile {
    /// A server or container like this one, for one model: all memory of the machine, or of the process's control group.
    public static var server: DeviceProfile { DeviceProfile("server", memoryBytes: MachineMemory.total) }
}
