//! The recursive programs of bench/forks by Rayon's join(): fib, integrate, UTS and skynet, each as calls, too.
//!
//! usage: forks_rayon THREADS REPETITIONS. Prints a JSON line for each case: nanoseconds of each repetition, of the wall's clock.
//! Children are dealt out by halves, as Rayon's own iterators do.
use std::hint::black_box;
use std::time::Instant;

trait Style: Sync {
    fn both<A: Send, B: Send>(f: impl FnOnce() -> A + Send, g: impl FnOnce() -> B + Send) -> (A, B);
}
struct Serial;
struct Join;
impl Style for Serial {
    #[inline(always)]
    fn both<A: Send, B: Send>(f: impl FnOnce() -> A + Send, g: impl FnOnce() -> B + Send) -> (A, B) {
        let a = f();
        (a, g())
    }
}
impl Style for Join {
    #[inline(always)]
    fn both<A: Send, B: Send>(f: impl FnOnce() -> A + Send, g: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(f, g)
    }
}

#[inline(never)]
fn fib<S: Style>(n: i32) -> i64 {
    if n < 2 {
        return i64::from(n);
    }
    let (a, b) = S::both(|| fib::<S>(n - 1), || fib::<S>(n - 2));
    black_box(a + b)
}

fn curve(x: f64) -> f64 {
    (x * x + 1.0) * x
}
#[inline(never)]
fn integrate<S: Style>(x1: f64, y1: f64, x2: f64, y2: f64, area: f64) -> f64 {
    let half = (x2 - x1) / 2.0;
    let x0 = x1 + half;
    let y0 = curve(x0);
    let left = (y1 + y0) / 2.0 * half;
    let right = (y0 + y2) / 2.0 * half;
    if (left + right - area).abs() < 1e-9 {
        return left + right;
    }
    let (a, b) = S::both(|| integrate::<S>(x1, y1, x0, y0, left), || integrate::<S>(x0, y0, x2, y2, right));
    black_box(a + b)
}

/// The sum over [first, last) of `each`.
fn sum<S: Style>(first: u64, last: u64, each: &(impl Fn(u64) -> u64 + Sync)) -> u64 {
    if last - first == 1 {
        return each(first);
    }
    let middle = first + (last - first) / 2;
    let (a, b) = S::both(|| sum::<S>(first, middle, each), || sum::<S>(middle, last, each));
    a + b
}

fn mix(value: u64) -> u64 {
    let mut v = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}
fn child_state(state: u64, child: u64) -> u64 {
    (0..8).fold(state ^ mix(child + 1), |s, _| mix(s))
}
fn uniform(state: u64) -> f64 {
    (state >> 11) as f64 * 0.5f64.powi(53)
}
fn geometric(state: u64, depth: u32) -> u64 {
    if depth >= 7 {
        return 0;
    }
    let log_failure = (1.0f64 - 1.0 / 5.0).ln();
    ((1.0 - uniform(state)).ln() / log_failure).floor().min(100.0) as u64
}
fn binomial(state: u64, depth: u32) -> u64 {
    if depth == 0 {
        2000
    } else if uniform(state) < 0.1225 {
        8
    } else {
        0
    }
}
#[inline(never)]
fn search<S: Style>(state: u64, depth: u32, children: &(impl Fn(u64, u32) -> u64 + Sync)) -> u64 {
    let count = children(state, depth);
    if count == 0 {
        return 1;
    }
    1 + sum::<S>(0, count, &|i| search::<S>(child_state(state, i), depth + 1, children))
}

#[inline(never)]
fn skynet<S: Style>(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let each = leaves / 10;
    sum::<S>(0, 10, &|i| skynet::<S>(first + i * each, each))
}

fn measure(name: &str, style: &str, repetitions: usize, body: impl Fn() -> bool) {
    assert!(body(), "wrong result in {name}");
    let times: Vec<String> = (0..repetitions)
        .map(|_| {
            let begin = Instant::now();
            assert!(body(), "wrong result in {name}");
            begin.elapsed().as_nanos().to_string()
        })
        .collect();
    println!("{{\"case\":\"forks/{name}_{style}\",\"iterations\":1,\"wall_ns\":[{}]}}", times.join(","));
}

fn measure_all<S: Style>(style: &str, repetitions: usize) {
    measure("fib", style, repetitions, || fib::<S>(black_box(24)) == 46_368);
    measure("integrate", style, repetitions, || {
        let to = black_box(60.0f64);
        let area = integrate::<S>(0.0, 0.0, to, curve(to), 0.0);
        (area - (to.powi(4) / 4.0 + to * to / 2.0)).abs() < 1e-2
    });
    let root = mix(42);
    measure("uts_geometric", style, repetitions, || search::<S>(black_box(root), 0, &geometric) == 56_198);
    measure("uts_binomial", style, repetitions, || search::<S>(black_box(root), 0, &binomial) == 149_537);
    measure("skynet", style, repetitions, || skynet::<S>(0, black_box(100_000)) == 4_999_950_000);
}

fn main() {
    let number = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<usize>().ok());
    let (Some(threads), Some(repetitions)) = (number(1), number(2)) else {
        eprintln!("usage: forks_rayon THREADS REPETITIONS");
        std::process::exit(2);
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        measure_all::<Serial>("rayon_serial", repetitions);
        measure_all::<Join>("rayon", repetitions);
    });
}
