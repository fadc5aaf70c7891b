/** The font of figures in files: in the file itself, so that they look and print alike everywhere. */
import {readFile} from 'node:fs/promises'
import {createRequire} from 'node:module'

/** As figures name it. */
export const FONT_FAMILY = 'Source Sans 3'

const FILE = '@fontsource/source-sans-3/files/source-sans-3-latin-400-normal.woff2'

/** The font as WOFF 2. */
export function fontFile(): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(FILE))
}

/** A style sheet that has it in it. */
export async function fontSheet(): Promise<string> {
  const data = (await fontFile()).toString('base64')
  return `@font-face { font-family: "${FONT_FAMILY}"; src: url("data:font/woff2;base64,${data}") format("woff2"); }`
}
