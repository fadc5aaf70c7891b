declare module 'wawoff2' {
  /** The TrueType font in a WOFF 2 file. */
  export function decompress(file: Uint8Array): Promise<Uint8Array>
}
