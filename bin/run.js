#!/usr/bin/env node
// Looks at the version of Node before anything that an older one could not read, in words that it can.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 20 || (major === 20 && minor >= 19)) {
  import('./start.js').catch(error => {
    if (!['EMFILE', 'ENFILE'].includes(error.code)) throw error
    process.stderr.write(
      `rfa: expected more open files than the system allows: ulimit -n 1024 raises the limit\n`,
    )
    process.exit(3) // what has begun to load would wait for ever
  })
} else {
  process.stderr.write(
    `rfa needs Node.js 20.19 or later, this is ${process.versions.node}: see https://nodejs.org\n`,
  )
  process.exitCode = 3
}
