/** What a file holds, by its first bytes and not by its name, with what to do about it. */
import {describe, expected, type RfaError} from '../../errors.js'
import type {Bytes} from './elements.js'
import {type ArrayExtension, formatOf} from './formats.js'
import type {ByteSource} from './source.js'

/** What the first bytes of a file say of it. */
interface Content {
  /** As messages call it. */
  what: string
  /** The format of arrays that it is in, if it is in one that is read here. */
  format?: ArrayExtension
  /** What to do where that is not read; lines that belong together are indented. @param path - as the user wrote it */
  advice(path: string): string[]
}

/** Bytes that are looked at: the longest sign, and the name of the first member of an archive. */
const LOOKED_AT = 512

const WRITE = 'write the arrays with safetensors.torch.save_file, numpy.savez or numpy.save'

/** Lines of Python that write arrays in a format that is read here; docs/inputs.md has more. */
const python = (...lines: string[]) => [
  'export the arrays in Python (docs/inputs.md):',
  ...lines.map(line => `  ${line}`),
]
const npzOf = (item: string) =>
  `numpy.savez("qkv.npz", q=${item}["q"], k=${item}["k"], v=${item}["v"])`

const TORCH: Content = {
  what: 'a PyTorch file',
  advice: path =>
    python(
      'import torch; from safetensors.torch import save_file',
      `x = torch.load(${describe(path)}, map_location="cpu")`,
      'save_file({n: x[n].contiguous() for n in ("q", "k", "v")}, "qkv.safetensors")',
    ),
}
const ZIP: Content = {
  what: 'a zip archive',
  format: '.npz',
  advice: () => ['if numpy.savez wrote it, rename it to end in .npz; else unpack it'],
}
const PICKLE: Content = {
  what: 'a Python pickle',
  advice: path =>
    python(
      'import numpy, pickle # unpickle only what you trust',
      `x = pickle.load(open(${describe(path)}, "rb"))`,
      npzOf('x'),
    ),
}
const HDF5: Content = {
  what: 'an HDF5 file',
  advice: path =>
    python('import h5py, numpy', `with h5py.File(${describe(path)}) as f: ${npzOf('f')}`),
}
const MATLAB: Content = {
  what: 'a MATLAB file',
  advice: path =>
    python('import numpy, scipy.io', `x = scipy.io.loadmat(${describe(path)})`, npzOf('x')),
}

/** A format with nothing to say but its name. */
const named = (format: ArrayExtension): Content => ({
  what: `a ${format} file`,
  format,
  advice: () => [`rename it to end in ${format}`],
})
const foreign = (what: string, advice = WRITE): Content => ({what, advice: () => [advice]})

/** Whether the start of a file, as latin-1, is of some kind. */
type Sign = (start: string) => boolean
const startsWith = (...signs: string[]): Sign => {
  return start => signs.some(sign => start.startsWith(sign))
}

const SIGNS: readonly [Sign, Content][] = [
  [isSafetensors, named('.safetensors')], // before signs that the length of its header may look like
  [startsWith('\x93NUMPY'), named('.npy')],
  [startsWith('PK\x03\x04', 'PK\x05\x06'), ZIP],
  [startsWith('\x89HDF\r\n\x1a\n'), HDF5],
  [startsWith('\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19'), TORCH], // as before its zip archives
  [startsWith('\x80\x02', '\x80\x03', '\x80\x04', '\x80\x05'), PICKLE],
  [startsWith('MATLAB 5.0 MAT-file'), MATLAB],
  [
    startsWith('\x1f\x8b', 'BZh', '\xfd7zXZ\0', '(\xb5/\xfd'),
    foreign('compressed data', 'unpack it first'),
  ],
  [startsWith('PAR1'), foreign('a Parquet file')],
  [startsWith('ARROW1'), foreign('an Arrow file')],
  [startsWith('GGUF'), foreign('a GGUF file')],
  [
    startsWith('version https://git-lfs'),
    foreign('a pointer of Git LFS', 'fetch the file: git lfs pull'),
  ],
  [
    start => /^\s*<(!doctype|html|\?xml)/i.test(start),
    foreign('a web page', 'download the file again'),
  ],
  [start => start === '', foreign('an empty file', 'copy or write it again')],
  [
    start => /^[\t\n\r\x20-\x7e]+$/.test(start),
    {what: 'text', advice: path => [`save the arrays with ${writerOf(path)}, not as text`]},
  ],
]

/** What writes a file of such a name in Python. */
function writerOf(path: string): string {
  const writers = {
    '.npy': 'numpy.save',
    '.npz': 'numpy.savez',
    '.safetensors': 'safetensors.torch.save_file',
  }
  return writers[formatOf(path) ?? '.npy']
}

/** The length of the header in 8 bytes, little-endian and never beyond 2^32, then its brace. */
function isSafetensors(start: string): boolean {
  return start.slice(4, 9) === '\0\0\0\0{'
}

/** What a file holds; `undefined` for unknown first bytes. */
async function contentOf(source: ByteSource): Promise<Content | undefined> {
  const start = await source.read(0, Math.min(LOOKED_AT, source.size))
  const text = Buffer.from(start).toString('latin1')
  const content = SIGNS.find(([sign]) => sign(text))?.[1]
  return content === ZIP ? archiveOf(start, text) : content
}

/** NumPy and PyTorch both write zip archives; the name of the first member distinguishes them. */
function archiveOf(start: Bytes, text: string): Content {
  const view = new DataView(start.buffer, start.byteOffset, start.length)
  const name = start.length < 30 ? '' : text.slice(30, 30 + view.getUint16(26, true))
  if (name.endsWith('.npy')) return named('.npz')
  return /\/(data\.pkl|constants\.pkl|byteorder|version|\.format_version)$/.test(name) ? TORCH : ZIP
}

/**
 * Refuses a file that holds another format than its name says.
 *
 * @throws {BAD_FILE} naming what it is, with what to do; what is like nothing known passes
 */
export async function refuseOther(source: ByteSource, own: ArrayExtension): Promise<void> {
  const content = await contentOf(source)
  if (content === undefined || content.format === own) return
  throw expected(
    'BAD_FILE',
    source.where,
    `a ${own} file`,
    content.what,
    ...content.advice(source.where),
  )
}

/** Error of a file without the name of a format. @param extension - of its name, with the dot; empty without */
export async function unknownFormat(
  source: ByteSource,
  extension: string,
  formats: readonly ArrayExtension[],
): Promise<RfaError> {
  const content = await contentOf(source)
  const named = extension || 'no extension'
  return expected(
    'BAD_FILE',
    source.where,
    `one of the formats ${formats.join(', ')}`,
    content === undefined ? named : `${named}: ${content.what}`,
    ...(content?.advice(source.where) ?? [WRITE]),
  )
}
