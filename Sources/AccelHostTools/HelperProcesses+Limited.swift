import AccelByteIO
import AccelPlatform

extension HelperProcesses {
    /// The end of a program that may take a limited time.
    public enum LimitedEnd: Equatable, Sendable {
        /// It ended by itself with this exit status.
        case exited(Int)
        /// A signal ended it.
        case killed(signal: Int)
        /// It was still running after its time, and was ended.
        case timedOut
    }

    /// Runs a program to its end, or to the end of its time, in its own process group without a terminal.
    /// - Parameters:
    ///   - path: the program; `words` are its arguments.
    ///   - environment: variables by name.
    ///   - output: a file for both its output and its errors; it has to exist.
    ///   - seconds: its time.
    /// - Throws: `RequestError` if it cannot be started.
    public static func run(
        _ path: String, _ words: [String], environment: [String: String], output: String, seconds: Double
    ) throws -> LimitedEnd {
        try running {
            let command = SpawnedCommand(path: path, words: words, environment: environment, hasGroupOfItsOwn: true)
            return try command.start([
                .file("/dev/null", O_RDONLY), .file(output, O_WRONLY | O_APPEND), .file(output, O_WRONLY | O_APPEND),
            ])
        } _: { number in
            let start = ContinuousClock.now
            var (status, pause): (Int32, UInt32) = (0, 1_000)
            while true {
                let ended = waitpid(number, &status, WNOHANG)
                if ended == number { break }
                if ended < 0, errno != EINTR { return .killed(signal: Int(SIGKILL)) }
                guard start.duration(to: .now) < .seconds(seconds) else {
                    // The group has the programs that it has started, too.
                    kill(-number, SIGKILL)
                    while waitpid(number, &status, 0) < 0, errno == EINTR {}
                    return .timedOut
                }
                usleep(pause)
                pause = min(2 * pause, 50_000)
            }
            return status & 0x7F == 0 ? .exited(Int(status >> 8 & 0xFF)) : .killed(signal: Int(status & 0x7F))
        }
    }
}
