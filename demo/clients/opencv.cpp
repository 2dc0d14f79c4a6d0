// A chain of image operations of Debian's OpenCV over a seeded image: the library does all the work, with the
// threads it was built for. Each line of output is `name value`; `framework` is what OpenCV says it uses.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>
#include <string>

namespace {

/// FNV-1a over every byte of the image, row by row.
void print(const char* name, const cv::Mat& image) {
  std::uint64_t hash = 14695981039346656037ULL;
  const std::size_t bytes = static_cast<std::size_t>(image.cols) * image.elemSize();
  for (int row = 0; row < image.rows; ++row) {
    const unsigned char* line = image.ptr(row);
    for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ line[i]) * 1099511628211ULL;
  }
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

/// The line "Parallel framework: ..." of OpenCV's own description of its build.
std::string framework() {
  std::istringstream lines(cv::getBuildInformation());
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("Parallel framework:");
    if (at == std::string::npos) continue;
    const auto value = line.find_first_not_of(' ', line.find(':', at) + 1);
    return value == std::string::npos ? "none" : line.substr(value);
  }
  return "none";
}

}  // namespace

int main(int argc, char** argv) {
  const int width = argc > 1 ? std::atoi(argv[1]) : 1024;
  const int height = width * 3 / 4;
  cv::RNG random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);

  cv::Mat noise(height / 8, width / 8, CV_8UC3);
  random.fill(noise, cv::RNG::UNIFORM, 0, 256);
  cv::Mat image;
  cv::resize(noise, image, {width, height}, 0, 0, cv::INTER_CUBIC);  // structure at two scales, not only noise
  cv::Mat grain(height, width, CV_8UC3);
  random.fill(grain, cv::RNG::UNIFORM, 0, 32);
  image += grain;

  const auto start = std::chrono::steady_clock::now();

  cv::Mat grey, blurred, median, edges, turned, seen, smaller, opened, equal, hsv, bilateral, sharp;
  cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
  cv::cvtColor(image, hsv, cv::COLOR_BGR2HSV);
  cv::GaussianBlur(image, blurred, {0, 0}, 3.0);
  cv::medianBlur(grey, median, 7);
  cv::bilateralFilter(image, bilateral, 9, 40, 40);
  cv::Canny(median, edges, 30, 90);
  cv::warpAffine(image, turned, cv::getRotationMatrix2D({width / 2.F, height / 2.F}, 17.0, 1.1), image.size(),
                 cv::INTER_CUBIC);
  const cv::Point2f from[] = {{0, 0}, {1.F * width, 0}, {1.F * width, 1.F * height}, {0, 1.F * height}};
  const cv::Point2f to[] = {
      {0.1F * width, 0}, {0.9F * width, 0.1F * height}, {1.F * width, 1.F * height}, {0, 0.8F * height}};
  cv::warpPerspective(image, seen, cv::getPerspectiveTransform(from, to), image.size());
  cv::resize(image, smaller, {}, 0.37, 0.37, cv::INTER_LANCZOS4);
  cv::morphologyEx(grey, opened, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {9, 9}));
  cv::createCLAHE(3.0, {16, 16})->apply(grey, equal);
  const cv::Mat kernel = (cv::Mat_<float>(3, 3) << 0, -1, 0, -1, 5, -1, 0, -1, 0);
  cv::filter2D(image, sharp, -1, kernel);

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  print("cvtColor", grey);
  print("cvtColor_hsv", hsv);
  print("GaussianBlur", blurred);
  print("medianBlur", median);
  print("bilateralFilter", bilateral);
  print("Canny", edges);
  print("warpAffine", turned);
  print("warpPerspective", seen);
  print("resize", smaller);
  print("morphologyEx", opened);
  print("CLAHE", equal);
  print("filter2D", sharp);
  std::printf("framework %s\n", framework().c_str());
  std::printf("seconds %.6f\n", seconds.count());
}
