//! The files of the studio. Written by `npm run build` in `web/studio`; do not edit it.

/// A file of the studio.
#[derive(Debug)]
pub(crate) struct StudioFile {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

pub(crate) const FILES: &[StudioFile] = &[
    StudioFile { path: "/", media_type: "text/html; charset=utf-8", bytes: include_bytes!("index.html") },
    StudioFile {
        path: "/assets/highlight-CJX-toai.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("assets/highlight-CJX-toai.js"),
    },
    StudioFile {
        path: "/assets/highlight-license.txt",
        media_type: "text/plain; charset=utf-8",
        bytes: include_bytes!("assets/highlight-license.txt"),
    },
    StudioFile {
        path: "/assets/index-D1pZCsp9.css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("assets/index-D1pZCsp9.css"),
    },
    StudioFile {
        path: "/assets/index-DiFQ6uOw.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("assets/index-DiFQ6uOw.js"),
    },
    StudioFile {
        path: "/assets/inter-latin-wght-normal-Dx4kXJAl.woff2",
        media_type: "font/woff2",
        bytes: include_bytes!("assets/inter-latin-wght-normal-Dx4kXJAl.woff2"),
    },
    StudioFile {
        path: "/assets/inter-license.txt",
        media_type: "text/plain; charset=utf-8",
        bytes: include_bytes!("assets/inter-license.txt"),
    },
];
