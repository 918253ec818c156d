// The few declarations of zlib that are used here. Its own header is not included: then libz alone is enough, and the
// system types which that header draws in do not become part of this module.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

// Fixed by zlib's binary interface (version 1.x, https://zlib.net/manual.html); zlib checks the size of the structure.
typedef struct z_stream_s {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    struct internal_state *state;
    void *(*zalloc)(void *opaque, unsigned int items, unsigned int size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} z_stream;

#define ZLIB_VERSION "1.2.11"
#define Z_NO_FLUSH 0
#define Z_FINISH 4
#define Z_OK 0
#define Z_STREAM_END 1
#define Z_BUF_ERROR (-5)
#define Z_DEFLATED 8
#define Z_DEFAULT_STRATEGY 0

int deflateInit2_(z_stream *stream, int level, int method, int windowBits, int memLevel, int strategy,
                  const char *version, int stream_size);
int deflate(z_stream *stream, int flush);
int deflateEnd(z_stream *stream);
int inflateInit2_(z_stream *stream, int windowBits, const char *version, int stream_size);
int inflate(z_stream *stream, int flush);
int inflateEnd(z_stream *stream);
unsigned long crc32(unsigned long crc, const unsigned char *bytes, unsigned int count);

#endif
