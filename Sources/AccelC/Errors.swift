import Accel
import AccelByteIO
package import CAccel

extension AccelError {
    /// The status of success.
    static var none: accel_status { accel_status(ACCEL_OK) }

    /// Writes the parts to an error of the caller's, as far as its size goes.
    func write(to error: UnsafeMutablePointer<accel_error>?) {
        guard let error, var written = CStruct(filling: error) else { return }
        written.set(\.code, code.rawValue)
        written.set(\.message, description)
        written.set(\.place, location)
        written.set(\.expected, expected ?? "")
        written.set(\.found, found ?? "")
        written.set(\.hint, hint ?? "")
    }
}

/// Runs the body of a function of the interface: its error goes to the caller's, and its code is the status.
package func attempt<Failure: Error>(
    _ error: UnsafeMutablePointer<accel_error>?, _ body: () throws(Failure) -> Void
) -> accel_status {
    do {
        try body()
        clear(error)
        return AccelError.none
    } catch let failure {
        let failure = AccelError(failure, at: "")
        failure.write(to: error)
        return failure.code.rawValue
    }
}

/// An error of success: all texts are empty.
func clear(_ error: UnsafeMutablePointer<accel_error>?) {
    guard let error else { return }
    _ = CStruct(filling: error)
}
