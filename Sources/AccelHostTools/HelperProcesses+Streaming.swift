import AccelByteIO
import AccelPlatform

extension HelperProcesses {
    /// Runs a program in the background and passes on its output while it is produced; its standard error is discarded.
    /// - Parameters:
    ///   - input: the content of its standard input, which it has to read before it writes much.
    ///   - receive: gets parts of its output, and nothing every 0.1 s while there is none. Returns false to end the
    ///     program.
    /// - Returns: Its exit status (128 plus the signal number if a signal ended it); nil if `receive` ended it.
    /// - Throws: `RequestError` if it cannot be started; the errors of `receive`, after the program has ended.
    public static func stream(
        of path: String, _ words: [String], environment: [String: String], input: [UInt8],
        _ receive: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Int? {
        var connection: Connection?
        return try running {
            // Made under the lock of `running`, so that no program that is started at the same time inherits the ends.
            let made = try Connection(to: path)
            let command = SpawnedCommand(path: path, words: words, environment: environment, hasGroupOfItsOwn: true)
            let number = try command.start([
                .descriptor(made.childInput.number), .descriptor(made.childOutput.number), .file("/dev/null", O_WRONLY),
            ])
            connection = made
            return number
        } _: { number in
            var isEnded = false
            // Nothing waits for a program that nobody reads from any more.
            defer { if !isEnded { _ = (kill(-number, SIGKILL), status(of: number)) } }
            guard let connection, try connection.exchange(input, receive) else { return nil }
            isEnded = true
            let status = status(of: number)
            return Int(status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F)
        }
    }

    /// Waits for the end of a process and returns its status as from `waitpid`.
    private static func status(of number: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(number, &status, 0) < 0 {
            guard errno == EINTR else { return SIGKILL }
        }
        return status
    }

    /// The pipes to the standard input and from the standard output of a program.
    private final class Connection {
        var childInput: FileDescriptor
        var input: FileDescriptor
        var output: FileDescriptor
        var childOutput: FileDescriptor

        init(to path: String) throws(RequestError) {
            func ends() throws(RequestError) -> (Int32, Int32) {
                var ends: [Int32] = [-1, -1]
                guard pipe(&ends) == 0 else {
                    throw RequestError("cannot run \(path): \(systemMessage())", status: .unavailable)
                }
                for number in ends { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
                return (ends[0], ends[1])
            }
            let inputs = try ends()
            childInput = FileDescriptor(inputs.0)
            input = FileDescriptor(inputs.1)
            let outputs = try ends()
            output = FileDescriptor(outputs.0)
            childOutput = FileDescriptor(outputs.1)
        }

        /// Writes the input and reads the output.
        /// - Returns: False if `receive` returned false.
        func exchange(_ bytes: [UInt8], _ receive: (UnsafeRawBufferPointer) throws -> Bool) throws -> Bool {
            _ = childOutput.close()
            write(bytes)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
            defer { buffer.deallocate() }
            while true {
                var request = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
                let count = poll(&request, 1, 100) > 0 ? read(output.number, buffer.baseAddress, buffer.count) : -1
                if count == 0 { return true }
                if count < 0, request.revents != 0, errno != EINTR, errno != EAGAIN { return true }
                guard try receive(UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)])) else { return false }
            }
        }

        /// Writes all bytes, or as many as the reader accepts. The other end stays open here while it is written to, so that
        /// a program that has already ended raises no signal.
        private func write(_ bytes: [UInt8]) {
            _ = fcntl(input.number, F_SETFL, O_NONBLOCK)
            var done = 0
            // Longer than the system's buffer only for a program that reads.
            for _ in 0..<1000 where done < bytes.count {
                let count = bytes.withUnsafeBytes {
                    AccelPlatform.write(input.number, $0.baseAddress! + done, $0.count - done)
                }
                if count > 0 { done += count } else { usleep(1000) }
            }
            _ = (input.close(), childInput.close())
        }
    }
}
