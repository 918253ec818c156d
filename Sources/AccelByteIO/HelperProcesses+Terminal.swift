#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension HelperProcesses {
    /// Runs a program to its end, in the terminal's foreground like the tool itself: it may ask for a passphrase there. (Foundation
    /// gives each program a process group of its own, which a terminal stops as soon as it asks for something.)
    /// - Parameters:
    ///   - path: of the program; `words` are its arguments.
    ///   - environment: lines `NAME=VALUE`.
    ///   - streams: the files that are its standard input, output and errors; the last two have to be there.
    /// - Returns: whether it ended by itself with exit status 0.
    /// - Throws: `RequestError` when it cannot be started.
    public static func run(
        _ path: String, _ words: [String], environment: [String],
        streams: (input: String, output: String, errors: String)
    ) throws -> Bool {
        try running {
            let files = [(streams.input, O_RDONLY), (streams.output, O_WRONLY), (streams.errors, O_WRONLY)]
            return try spawn(path, [path] + words, environment, files)
        } _: { number in
            var status: Int32 = 0
            while waitpid(number, &status, 0) < 0 {
                guard errno == EINTR else { return false }
            }
            // Ctrl-C is for both: let the tool end as interrupted, not for want of what this program was to make.
            if status & 0x7F == SIGINT { usleep(500_000) }
            return status == 0
        }
    }

    private static func spawn(
        _ path: String, _ words: [String], _ environment: [String], _ files: [(path: String, flags: Int32)]
    ) throws(RequestError) -> Int32 {
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
        for (number, file) in files.enumerated() {
            posix_spawn_file_actions_addopen(&actions, Int32(number), file.path, file.flags, 0)
        }
        // What the tool ignores, since it handles it in its own way, ends a program that knows nothing of that.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var number: Int32 = 0
        let pointers = (words.map { strdup($0) }, environment.map { strdup($0) })
        defer { (pointers.0 + pointers.1).forEach { free($0) } }
        let failure = posix_spawn(&number, path, &actions, &attributes, pointers.0 + [nil], pointers.1 + [nil])
        guard failure == 0 else {
            throw RequestError("cannot run \(path): \(systemMessage(failure))", status: .unavailable)
        }
        return number
    }
}
