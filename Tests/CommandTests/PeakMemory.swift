#if os(Linux)
    import Foundation
    import Glibc

    /// The measure of the peak memory of a command in a process of its own.
    enum PeakMemory {
        /// The tests, and what they run, have a sanitizer.
        static let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

        struct Failure: Error { let words: String }

        /// Runs the tool and returns its peak memory in bytes.
        static func peak(
            _ words: [String], of executable: String = CommandRunner.executable.path, in folder: String
        ) throws -> Int {
            // The shell becomes the tool, in its folder.
            let script = "cd \"$0\" && exec \"$@\""
            let arguments = ["/bin/sh", "-c", script, folder, executable] + words
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 1, "\(folder)/.stdout", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
            var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            defer { for pointer in pointers { free(pointer) } }
            let environment = ["ACCELC_CACHE=\(folder)/.cache", "HOME=\(folder)"]
            var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
            defer { for variable in variables { free(variable) } }
            var process: pid_t = 0
            guard posix_spawn(&process, arguments[0], &actions, nil, &pointers, &variables) == 0 else {
                throw Failure(words: "\(arguments[0]) does not start")
            }
            // The peak of its own memory: the system's figure for a child (ru_maxrss) begins with the memory of the process that it was
            // made by.
            var (status, peak): (CInt, Int) = (0, 0)
            while true {
                let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
                if let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }) {
                    peak = max(
                        peak,
                        line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
                            ?? 0)
                }
                let ended = waitpid(process, &status, WNOHANG)
                if ended == process { break }
                guard ended == 0 || errno == EINTR else { throw Failure(words: "waitpid") }
                usleep(500)
            }
            guard status == 0 else {
                throw Failure(words: (try? String(contentsOfFile: "\(folder)/.stdout", encoding: .utf8)) ?? "\(status)")
            }
            return peak * 1024
        }
    }
#endif
