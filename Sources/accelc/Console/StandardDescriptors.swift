import AccelPlatform

/// The descriptors 0 to 2.
enum StandardDescriptors {
    /// Takes the numbers of closed ones, as a daemon may leave them: otherwise a file that is opened later would get such a number, and with it
    /// all that is printed. What stands in fails as a closed descriptor does.
    static func reserve() {
        for number in 0...2 as ClosedRange<Int32> where fcntl(number, F_GETFD) == -1 {
            // The system takes the lowest number that is free.
            let opened = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
            if opened >= 0, opened != number { close(opened) }
        }
    }
}
