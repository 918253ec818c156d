import AccelByteIO

extension DeviceProfile {
    /// This device as it is now: the memory that the process can still take; half of it where the system ends apps that take more.
    public static var current: DeviceProfile {
        #if os(iOS) || os(watchOS) || os(tvOS) || os(visionOS)
            let memory = MachineMemory.available / 2
        #else
            let memory = MachineMemory.available
        #endif
        return DeviceProfile("current", memoryBytes: memory)
    }
}
