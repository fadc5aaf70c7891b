#!/usr/bin/env node
// Looks at the version of Node before anything that an older one could not read, in words that it can.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 20 || (major === 20 && minor >= 19)) {
  import('./start.js')
} else {
  process.stderr.write(
    `rfa needs Node.js 20.19 or later, this is ${process.versions.node}: see https://nodejs.org\n`,
  )
  process.exitCode = 3
}
