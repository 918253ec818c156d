import AccelByteIO
import AccelPlatform

/// A program to start, with its arguments.
struct SpawnedCommand {
    /// The file of a standard stream.
    enum Stream {
        /// A file that is opened with these flags.
        case file(String, Int32)
        /// An open file of this process.
        case descriptor(Int32)
    }

    var path: String
    var words: [String]
    /// Variables by name.
    var environment: [String: String]
    /// The program gets its own process group: terminal signals do not reach it, and it cannot read from the terminal.
    var hasGroupOfItsOwn = false

    /// Starts the program.
    /// - Parameter streams: its standard input, output and errors.
    /// - Returns: The process identifier.
    /// - Throws: `RequestError` if it cannot be started.
    func start(_ streams: [Stream]) throws(RequestError) -> Int32 {
        #if canImport(Darwin)
            var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #else
            var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, stream) in streams.enumerated() {
            switch stream {
            case .file(let path, let flags):
                posix_spawn_file_actions_addopen(&actions, Int32(number), path, flags, 0)
            case .descriptor(let open): posix_spawn_file_actions_adddup2(&actions, open, Int32(number))
            }
        }
        // Signals that the tool ignores, because it handles them itself, get their default action in the program.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var flags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        if hasGroupOfItsOwn { flags |= Int16(POSIX_SPAWN_SETPGROUP) }
        posix_spawnattr_setflags(&attributes, flags)

        var number: Int32 = 0
        let pointers = (
            ([path] + words).map { strdup($0) }, environment.map { strdup("\($0.key)=\($0.value)") }
        )
        defer { (pointers.0 + pointers.1).forEach { free($0) } }
        let failure = posix_spawn(&number, path, &actions, &attributes, pointers.0 + [nil], pointers.1 + [nil])
        guard failure == 0 else {
            throw RequestError("cannot run \(path): \(systemMessage(failure))", status: .unavailable)
        }
        return number
    }
}
