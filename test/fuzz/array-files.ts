/** Array files put together from right and wrong parts, by fast-check. */
import {crc32} from 'node:zlib'
import fc from 'fast-check'
import {
  archiveOf,
  centralPart,
  deflated,
  localPart,
  type RawMember,
  stored,
} from '../helpers/zip-writer.js'

/** Mostly what is right, now and then something else. */
const mostly = <T>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<T>, weight = 8) =>
  fc.oneof({weight, arbitrary: right}, {weight: 1, arbitrary: wrong})

/** Sizes that fit, and those at which counting goes wrong. */
const size = mostly(
  fc.integer({min: 0, max: 7}),
  fc.constantFrom(-1, 0.5, 255, 65536, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53, 2 ** 53 - 1, 1e300),
  20,
)
const shape = fc.array(size, {maxLength: 6})
const hostileText = fc.oneof(
  fc.string({unit: 'binary', maxLength: 24}),
  fc.constantFrom('__proto__', 'constructor', 'toString', '', '\u001b[2J', '../../x', '=1+1'),
)
const names = mostly(
  fc.constantFrom('q', 'k', 'v', 'gate', 'key_mask', 'noise.a', 'layers.0.q', 'layout', 'scale'),
  hostileText,
)

/** Bytes of so many elements, where those are few; some otherwise. */
const elements = (sizes: readonly number[], bytes: number) => {
  const length = sizes.reduce((product, one) => product * one, 1) * bytes
  const fits = Number.isInteger(length) && length >= 0 && length <= 4096
  const right = fits ? fc.uint8Array({minLength: length, maxLength: length}) : fc.uint8Array()
  return mostly(right, fc.uint8Array({maxLength: 64}), 12)
}

const NPY_BYTES = {"'<f4'": 4, "'>f8'": 8, "'|u1'": 1, "'<f2'": 2, "'|b1'": 1, "'>i8'": 8}
const ODD_DESCRS = [
  "'|O'",
  "[('a', '<f4')]",
  "'<toString'",
  'None',
  "'<U9'",
  "'|V2'",
  '4',
  "'<M8[ns]'",
]

const latin = (text: string) => Buffer.from(text, 'latin1')

/** A .npy file. */
export const npyFile: fc.Arbitrary<Uint8Array> = fc
  .record({
    descr: mostly(
      fc.constantFrom(...Object.keys(NPY_BYTES)),
      fc.oneof(
        fc.constantFrom(...ODD_DESCRS),
        hostileText.map(text => `'${text}'`),
      ),
    ),
    fortran: mostly(fc.constantFrom('True', 'False'), fc.constantFrom('None', '1', "'False'", '')),
    shape: mostly(
      shape.map(sizes => ({sizes, text: `(${sizes.map(one => `${one},`).join(' ')})`})),
      fc
        .constantFrom('(1L, 2L)', '[1, 2]', `${'('.repeat(999)}`, '(1e3,)', '(True,)', '3', '(')
        .map(text => ({sizes: [], text})),
    ),
    more: mostly(fc.constant(''), fc.constantFrom("'a': 1, ", "'descr': 1, ", '}', '\\', '#')),
    version: mostly(fc.constantFrom(1, 1, 2, 3), fc.integer({min: 0, max: 255})),
    lie: mostly(fc.constant(0), fc.integer({min: -70, max: 70000}), 12),
    pad: fc.integer({min: 0, max: 70}),
  })
  .chain(({descr, fortran, shape: {sizes, text}, more, version, lie, pad}) => {
    const dict = `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${text}, ${more}}`
    const header = latin(`${dict}${' '.repeat(pad)}\n`)
    const start = Buffer.alloc(version === 1 ? 10 : 12)
    latin('\x93NUMPY').copy(start)
    start[6] = version
    const length = Math.max(0, header.length + lie)
    if (version === 1) start.writeUInt16LE(length % 65536, 8)
    else start.writeUInt32LE(length, 8)
    const bytes = (NPY_BYTES as Record<string, number>)[descr] ?? 1
    return elements(sizes, bytes).map(data => Buffer.concat([start, header, data]))
  })

const member: fc.Arbitrary<RawMember> = fc
  .record({
    name: mostly(
      names.map(name => `${name}.npy`),
      hostileText,
    ),
    content: mostly(npyFile, fc.uint8Array({maxLength: 99})),
    pack: fc.constantFrom(deflated, stored),
    change: mostly(
      fc.constant({}),
      fc.oneof(
        fc.record({method: fc.integer({min: 0, max: 99})}),
        fc.record({crc: fc.integer({min: 0, max: 2 ** 32 - 1})}),
        fc.record({size: fc.integer({min: 0, max: 2 ** 32 - 1})}),
        fc.record({packed: fc.uint8Array({maxLength: 99})}),
      ),
    ),
  })
  .map(({name, content, pack, change}) => ({
    ...pack(Buffer.from(name, 'latin1').toString('latin1'), content),
    ...change,
  }))

/** A .npz file, and whether a sum of one of its arrays is wrong. */
export const npzFile: fc.Arbitrary<{bytes: Uint8Array; isWrong: boolean}> = fc
  .record({
    members: fc.array(member, {maxLength: 4}),
    // of the directory: another name, another place
    names: mostly(fc.constant(undefined), hostileText, 12),
    moved: mostly(fc.constant(0), fc.integer({min: 0, max: 2 ** 31}), 12),
    comment: mostly(fc.constant(new Uint8Array()), fc.uint8Array({maxLength: 30}), 12),
  })
  .map(({members, names: name, moved, comment}) => {
    const locals = members.map(localPart)
    let offset = 0
    const entries = members.map((one, index) => {
      const told = name === undefined || index > 0 ? one : {...one, name}
      const entry = centralPart(told, offset + moved)
      offset += locals[index]!.length
      return entry
    })
    const bytes = Buffer.concat([archiveOf(locals, entries), comment])
    const isWrong = members.some(
      ({name: file, method, crc, packed}) =>
        file.endsWith('.npy') && method === 0 && crc32(packed) !== crc,
    )
    return {bytes, isWrong}
  })

const TENSOR_BYTES = {F32: 4, F64: 8, U8: 1, F16: 2, BF16: 2, BOOL: 1, I64: 8}

const tensor = fc
  .record({
    name: names,
    dtype: mostly(
      fc.constantFrom(...Object.keys(TENSOR_BYTES)),
      fc.oneof(hostileText, fc.constantFrom('F8_E4M3', 'F4', 'C64', 'toString')),
      12,
    ),
    shape,
    gap: mostly(fc.constant(0), fc.constantFrom(1, -1, 8, 2 ** 40, -(2 ** 40)), 12),
    more: mostly(fc.constant({}), fc.dictionary(hostileText, fc.jsonValue(), {maxKeys: 2}), 12),
  })
  .chain(one => {
    const bytes = (TENSOR_BYTES as Record<string, number>)[one.dtype] ?? 1
    return elements(one.shape, bytes).map(data => ({...one, data}))
  })

/** A .safetensors file. */
export const safetensorsFile: fc.Arbitrary<Uint8Array> = fc
  .record({
    tensors: fc.array(tensor, {maxLength: 4}),
    metadata: mostly(
      fc.dictionary(names, hostileText, {maxKeys: 3}) as fc.Arbitrary<unknown>,
      fc.jsonValue(),
      4,
    ),
    deep: mostly(fc.constant(0), fc.constantFrom(1000, 100_000), 200),
    lie: mostly(fc.constant(0n), fc.bigInt({min: -99n, max: 2n ** 63n}), 20),
    tail: mostly(fc.constant(''), hostileText, 20),
  })
  .map(({tensors, metadata, deep, lie, tail}) => {
    const header: [string, unknown][] = [['__metadata__', metadata]]
    let begin = 0
    for (const {name, dtype, shape: sizes, gap, more, data} of tensors) {
      const offsets = [begin + gap, begin + gap + data.length]
      header.push([name, {dtype, shape: sizes, data_offsets: offsets, ...more}])
      begin += data.length
    }
    const fields = header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    if (deep > 0) fields.push(`"deep":${'['.repeat(deep)}${']'.repeat(deep)}`)
    const text = Buffer.from(`{${fields.join(',')}}${tail}`)
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt.asUintN(64, BigInt(text.length) + lie))
    return Buffer.concat([length, text, ...tensors.map(({data}) => data)])
  })
