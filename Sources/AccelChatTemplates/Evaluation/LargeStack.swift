import AccelByteIO
import AccelPlatform

/// A thread with a stack that the deepest template does not fill, whatever thread calls.
enum LargeStack {
    private static let bytes = 64 << 20

    private final class Work {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    /// Runs work on such a thread, and waits for it.
    /// - Throws: the error of the work; `RequestError` (unavailable) if the system makes no more threads.
    static func run<Result>(_ work: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        try withoutActuallyEscaping(work) { work in
            try start(Work { result = Swift.Result { try work() } })
        }
        guard let result else { throw RequestError("the system makes no more threads", status: .unavailable) }
        return try result.get()
    }

    private static func start(_ work: Work) throws {
        // Allocated, because more than one module defines the type's initialiser.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        pthread_attr_setstacksize(attributes, bytes)
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let context = Unmanaged.passRetained(work)
        let status = pthread_create(
            &thread, attributes,
            { context in
                // Optional on some systems only.
                let context: UnsafeMutableRawPointer? = context
                if let context { Unmanaged<Work>.fromOpaque(context).takeUnretainedValue().run() }
                return nil
            }, context.toOpaque())
        defer { context.release() }
        guard status == 0 else { throw RequestError("the system makes no more threads", status: .unavailable) }
        #if canImport(Darwin)
            if let thread { pthread_join(thread, nil) }
        #else
            pthread_join(thread, nil)
        #endif
    }
}
