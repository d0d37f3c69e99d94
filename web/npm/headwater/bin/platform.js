// The platforms that have a package, and how its program is found.

export const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];

/** The path of the program for a platform, or why it is missing. `resolve` finds a file of an installed package. */
export function program(resolve, platform, arch) {
  const name = `${platform}-${arch}`;
  if (!PLATFORMS.includes(name)) {
    return {
      problem:
        `headwater has no program for ${name}: there is one for ${PLATFORMS.join(', ')}.\n` +
        'Build it with `cargo install headwater-command`, or use the container image.',
    };
  }
  try {
    return { path: resolve(`@headwater/bin-${name}/bin/headwater${platform === 'win32' ? '.exe' : ''}`) };
  } catch {
    return {
      problem:
        `the package @headwater/bin-${name} is not installed.\n` +
        'npm leaves it out with --omit=optional, and when node_modules was copied from another platform: install again.',
    };
  }
}
