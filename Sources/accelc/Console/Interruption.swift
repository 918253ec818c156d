import AccelByteIO
import AccelHostTools
import AccelPlatform
import Dispatch

/// The early end of the tool: at any moment, in any state of its threads, and without partly written files.
///
/// A file that is being written has a temporary name (`TemporaryPaths`), and gets its final name by one rename. So no
/// thread has to be asked to stop: a thread that does no other work removes all temporary paths, prevents new ones, and
/// ends the process.
enum Interruption {
    private static let queue = DispatchQueue(label: "accelc.interruption", qos: .userInteractive)
    // Kept for the life of the process, because a released source stops.
    nonisolated(unsafe) private static var sources: [any DispatchSourceProtocol] = []

    /// Ends the tool on SIGINT, SIGTERM and SIGHUP, and when a page of a mapped file is lost. SIGPIPE and SIGXFSZ are
    /// ignored, so that writes return an error instead.
    /// - Parameter document: the document that an end owes.
    static func onSignals(_ document: ErrorDocument) {
        signal(SIGPIPE, SIG_IGN)
        // Beyond a limit on file sizes, the write fails and the partly written file is removed.
        signal(SIGXFSZ, SIG_IGN)
        if let descriptor = LostPages.report() {
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler {
                let error = LostPages.read(from: descriptor)
                end("error: \(error.description)", error, document)
            }
            source.resume()
            sources.append(source)
        }
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // `nohup` ignores SIGHUP; the tool keeps that, so that `nohup accelc ...` continues when the terminal
            // closes.
            let previous = signal(number, SIG_IGN)
            if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                continue
            }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { end("interrupted", nil, document) }
            source.resume()
            sources.append(source)
        }
    }

    /// Ends the tool after `seconds` seconds.
    static func after(_ seconds: Double, _ document: ErrorDocument) {
        let source = DispatchSource.makeTimerSource(queue: queue)
        let unit = seconds == 1 ? "second" : "seconds"
        source.setEventHandler {
            end("stopped after \(Text.number(seconds)) \(unit), as --timeout asks", nil, document)
        }
        source.schedule(deadline: .now() + seconds)
        source.resume()
        sources.append(source)
    }

    /// - Parameter error: the error, for `--json`; nil for an interruption for this reason.
    private static func end(_ reason: String, _ error: (any ReportedError)?, _ document: ErrorDocument) -> Never {
        let error = error ?? RequestError("\(reason); nothing half-written is left", status: .interrupted)
        return HelperProcesses.endingAll {
            TemporaryPaths.removeAll {
                // A stream with a slow reader has a second to accept the sentence; one without a reader must not block the
                // end.
                var stream = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
                if poll(&stream, 1, 1000) == 1 {
                    let clear = isatty(2) == 1 ? "\r\u{1B}[K" : ""
                    let words = Console.wrapped("accelc: \(reason); nothing half-written is left", for: .errors)
                    var sentence = "\(clear)\(words)\n"
                    sentence.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
                }
                var output = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
                if poll(&output, 1, 1000) == 1, var text = document.take(error) {
                    text.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
                }
                _exit(error.exitStatus.rawValue)
            }
        }
    }
}
