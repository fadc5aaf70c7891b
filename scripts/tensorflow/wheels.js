// Which wheel has TensorFlow's C library for this machine, and what of it is needed.

/**
 * The version of TensorFlow. tfjs-node 4.22 was made for 2.9, but wheels of 2.9 have the C interface only in a
 * module of Python; these have it in a library that needs no Python, for both platforms, and the build takes it
 * unchanged.
 */
export const TENSORFLOW = '2.15.1'

/**
 * Wheels by platform. No Python runs, so that the wheel for any version of it does. `bytes` is the size of the
 * file, `unpacked` the size of its libraries.
 */
const WHEELS = {
  'linux-x64': {
    project: 'tensorflow-cpu',
    file: 'tensorflow_cpu-2.15.1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
    sha256: 'ba9503db2c5357ea21938555323581fbdabf3d051b6bc1b5f73c5b0ae034d077',
    bytes: 207165286,
    unpacked: 614e6,
  },
  'linux-arm64': {
    project: 'tensorflow-aarch64',
    file: 'tensorflow_aarch64-2.15.1-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl',
    sha256: 'f9a4e340119e15fedcbf6200d82394a584fe1ef61bcd0a788b222066d3db4c8e',
    bytes: 211827856,
    unpacked: 696e6,
  },
}

/**
 * The wheel for a machine.
 *
 * @returns `{project, file, sha256, bytes, unpacked}`, or `{refused}`, a sentence, where there is none
 */
export function wheelFor(platform, arch, {glibc}) {
  const wheel = WHEELS[`${platform}-${arch}`]
  if (!wheel) {
    const names = Object.keys(WHEELS).join(' and ')
    return {
      refused: `no wheel of TensorFlow is known here for ${platform}-${arch}, only for ${names}`,
    }
  }
  if (!glibc)
    return {refused: 'the wheels of TensorFlow need glibc, which this Linux does not have'}
  return wheel
}

/** Where a member of the wheel goes in `deps/` of tfjs-node; `undefined` for all that is not needed. */
export function placeOf(member) {
  const library = /^tensorflow\/(libtensorflow_(?:cc|framework)\.so\.2)$/.exec(member)
  if (library) return `lib/${library[1]}`
  if (/^tensorflow_aarch64\.libs\/[^/]+$/.test(member)) return member // they look for it next to their folder
  const header = /^tensorflow\/(include\/(?:tensorflow|tsl)\/.*\.h)$/.exec(member)
  if (header && /\/c\/|\/platform\/ctstring/.test(member)) return header[1]
  const terms = /^(?:tensorflow\/(THIRD_PARTY_NOTICES\.txt)|[^/]*\.dist-info\/(LICENSE))$/.exec(
    member,
  )
  return terms ? (terms[1] ?? terms[2]) : undefined
}

/** Names by which tfjs-node's build asks for the libraries, and the files that they stand for. */
export const LINKS = {
  'libtensorflow.so': 'libtensorflow_cc.so.2',
  'libtensorflow_framework.so': 'libtensorflow_framework.so.2',
}
