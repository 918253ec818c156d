import AccelByteIO
import AccelPlatform

extension HelperProcesses {
    /// Runs a program to its end in the terminal's foreground, so that it can ask for a passphrase. (In its own process
    /// group, the terminal would stop it when it reads.)
    /// - Parameters:
    ///   - path: the program; `words` are its arguments.
    ///   - environment: variables by name.
    ///   - streams: files for standard input, output and errors; the last two have to exist.
    /// - Returns: Whether it exited with status 0.
    /// - Throws: `RequestError` if it cannot be started.
    public static func run(
        _ path: String, _ words: [String], environment: [String: String],
        streams: (input: String, output: String, errors: String)
    ) throws -> Bool {
        try running {
            let command = SpawnedCommand(path: path, words: words, environment: environment)
            return try command.start([
                .file(streams.input, O_RDONLY), .file(streams.output, O_WRONLY), .file(streams.errors, O_WRONLY),
            ])
        } _: { number in
            let status = ended(number)
            // Ctrl-C goes to both: the tool has time to end as interrupted, instead of failing because the result is
            // missing.
            if status & 0x7F == SIGINT { usleep(500_000) }
            return status == 0
        }
    }

    /// Runs a program to its end in the background; its standard error is discarded.
    /// - Parameter input: the content of its standard input.
    /// - Returns: Its exit status (128 plus the signal number if a signal ended it), and its standard output.
    /// - Throws: `RequestError` if it cannot be started.
    public static func answer(
        of path: String, _ words: [String], input: [UInt8]
    ) throws -> (status: Int, output: [UInt8]) {
        // A socket instead of a pipe: writes to a socket without a reader can be made not to raise SIGPIPE.
        var (inputs, outputs) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
        guard socketpair(AF_UNIX, streamSocket, 0, &inputs) == 0 else {
            throw RequestError("cannot run \(path): \(systemMessage())", status: .unavailable)
        }
        let questions = Channel(inputs)
        guard pipe(&outputs) == 0 else {
            throw RequestError("cannot run \(path): \(systemMessage())", status: .unavailable)
        }
        let answers = Channel(outputs)
        // Programs that are started at the same time must not inherit them.
        for number in inputs + outputs { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        return try running {
            let command = SpawnedCommand(
                path: path, words: words, environment: ProcessEnvironment.all, hasGroupOfItsOwn: true)
            return try command.start([
                .descriptor(questions.child.number), .descriptor(answers.child.number), .file("/dev/null", O_WRONLY),
            ])
        } _: { number in
            _ = (questions.child.close(), answers.child.close())
            send(input, to: questions.parent.number)
            _ = questions.parent.close()
            let answer = answers.parent.readToEnd()
            let status = ended(number)
            return (Int(status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F), answer)
        }
    }

    /// The two ends of a connection to a child process.
    private final class Channel {
        var parent: FileDescriptor
        var child: FileDescriptor

        init(_ ends: [Int32]) {
            parent = FileDescriptor(ends[0])
            child = FileDescriptor(ends[1])
        }
    }

    private static var streamSocket: Int32 {
        #if canImport(Glibc)
            Int32(SOCK_STREAM.rawValue)
        #else
            SOCK_STREAM
        #endif
    }

    /// Writes all bytes, or as many as the reader accepts.
    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        #if canImport(Darwin)
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                AccelPlatform.send(descriptor, $0.baseAddress! + done, $0.count - done, flags)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            done += count
        }
    }

    /// Waits for the end of a process.
    /// - Returns: Its status as from `waitpid`; that of a killed process if there is no such child.
    private static func ended(_ number: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(number, &status, 0) < 0 {
            guard errno == EINTR else { return SIGKILL }
        }
        return status
    }
}
